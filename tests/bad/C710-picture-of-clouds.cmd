plot clouds plan.json
