-- A host may be a pod. Its id is the pod's uid, and it proves itself with a token of its cluster, so it has none of ours.
alter table hosts
  -- The provisioner that made the pod, by cluster and namespace; null for a host that is no pod.
  add column provisioner text check (char_length(provisioner) between 1 and 200);
