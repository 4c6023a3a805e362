"""Objectives: what turns scores into a loss."""
