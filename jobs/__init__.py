"""The domain: what a training job asks for, may cost, is allowed, does and did. No HTTP in, no HTML out."""
