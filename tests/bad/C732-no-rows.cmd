validate ../golden/validate-toy/runs.csv --baseline @
