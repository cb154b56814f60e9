check --config @ --cluster dgx-h100:1
exit 1
