"""What holds for all tests."""

from hypothesis import HealthCheck, settings

# The machine may be slow; that is no finding about the code.
settings.register_profile("andrea", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("andrea")
