"""The trainer and other children as processes: nothing else starts or signals any."""
