"""The engine: the model, its parameters in one flat buffer, the optimiser. torch lives here."""
