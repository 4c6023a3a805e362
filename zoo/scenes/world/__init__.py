"""World: scenes of people, animals, vehicles, furniture and small things, drawn as cartoons."""
