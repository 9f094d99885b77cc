"""Settings of the property tests."""

import hypothesis

# Examples have no deadline, because their time depends on the machine more than on the code.
hypothesis.settings.register_profile("warre", deadline=None, max_examples=150)
hypothesis.settings.load_profile("warre")
