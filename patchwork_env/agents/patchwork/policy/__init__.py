"""Trained policies: networks that give every legal action a probability, and the agents that play them.

`features` computes the inputs of `network`, a policy and value network shaped after the game; `agent` plays
it, with or without Gumbel search. `dense` has the same policy in the form that other libraries expect (all
2026 actions). `onnx_export` and `onnx_agent` write and play ONNX files.
"""
