"""The domain: training jobs, their cost, policy, submission and observation. It imports no HTTP and renders no HTML."""
