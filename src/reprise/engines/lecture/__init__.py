"""Engine of the lecture's window model."""
