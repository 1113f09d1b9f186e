"""Several processes that train one run: started, met, watched, told what to do. No torch here."""
