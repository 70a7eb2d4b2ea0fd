-- runs with: none
ALTER TABLE task ADD COLUMN joins boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN task.joins IS 'Of a merchant in a run that workers do: it has no job of its own, as its job of an earlier run was still on the queue. It ends with that job, or gets one of its own after it.';
CREATE INDEX task_joins ON task (merchant_no, run_id) WHERE joins;

ALTER TABLE continuity_break ADD COLUMN readings_unchanged smallint NOT NULL DEFAULT 0;
COMMENT ON COLUMN continuity_break.readings_unchanged IS 'How often in a row its span was read again without a change. From two on it is read again weekly.';

ALTER TABLE statement ADD COLUMN over_midnight integer NOT NULL DEFAULT 0, ADD COLUMN last_balance text;
COMMENT ON COLUMN statement.over_midnight IS 'At how many places its rows do not lead on to each other, from its opening or to its closing, as entries of a neighbouring day lie there in the order of the balance chain.';
COMMENT ON COLUMN statement.last_balance IS 'The balance after its last row, where that is not the closing for this reason. Null elsewhere.';
