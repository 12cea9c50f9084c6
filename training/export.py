"""Write the policy of a checkpoint as an ONNX file, which onnxruntime plays without PyTorch.

python -m training.export runs/quick/final --out policy.onnx

The same in Python:

    from pathlib import Path

    from patchwork_env.learning.commands.export import export_policy

    export_policy("runs/quick/final", Path("policy.onnx"))
"""

from patchwork_env.learning.commands.export import main

if __name__ == "__main__":
    raise SystemExit(main())
