"""Hyperparameter tuning: choosing parameters (search), reading metrics (measures), leading trials (studies)."""
