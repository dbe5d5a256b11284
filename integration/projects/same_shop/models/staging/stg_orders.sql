{{ union_relations(relations_by_prefix(target.schema, 'raw_orders')) }}
