"""Hyperparameter tuning: choose parameters (search), read metrics (measures), run trials (studies)."""
