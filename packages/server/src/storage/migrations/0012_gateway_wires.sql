-- Anthropic's Messages and Google's generateContent are passed through as well (docs/decisions/0008).
alter table gateway_requests drop constraint gateway_requests_wire_check;
alter table gateway_requests add constraint gateway_requests_wire_check
  check (wire in ('chat', 'responses', 'messages', 'generate'));
