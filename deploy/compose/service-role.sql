-- Makes the role that the service works as. It owns nothing, so that the triggers of the log bind it (docs/operations.md).
\getenv password BERTH_SERVICE_PASSWORD
create role berth_service login password :'password';
