collective all-reduction --cluster dgx-a100:1
