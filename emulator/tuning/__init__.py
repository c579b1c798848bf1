"""Hyperparameter tuning: choosing parameters (search), reading metrics (measures), running trials (studies)."""
