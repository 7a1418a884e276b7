"""Pictures of aggregations: flame graphs and heat maps, and profiles for other tools' viewers."""
