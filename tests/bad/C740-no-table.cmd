calibrate @
