-- What a release that nobody has run called the hosts.
drop view runtime_hosts;
