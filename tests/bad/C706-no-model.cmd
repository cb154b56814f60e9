show model
