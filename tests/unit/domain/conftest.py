"""Settings of the property tests."""

import hypothesis

# How long an example takes says something about the machine, not about the code.
hypothesis.settings.register_profile("warre", deadline=None, max_examples=150)
hypothesis.settings.load_profile("warre")
