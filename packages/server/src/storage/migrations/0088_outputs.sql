-- The schema that a Turn wants its result to satisfy, and that result. They are text: the value that people read back has
-- its members in the order in which the agent gave them.
alter table turns add column output_schema text;
alter table runs add column output text;
