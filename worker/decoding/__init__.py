"""Prefill, the decode loop, the sampler and drafts: all steps that the model computes."""
