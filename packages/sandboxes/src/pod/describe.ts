/** One line per bound: how a pod enforces it. */
export const describePod = (): readonly string[] => [
  "identity: the pod's own; the sandbox's container runs as one user without capabilities, in namespaces of its own",
  "system calls: the container runtime's own profile (RuntimeDefault)",
  "memory: limit of the sandbox's container",
  "processes: kubelet's podPidsLimit",
  "cpu: limit of the sandbox's container",
  'file size: RLIMIT_FSIZE',
  'disk: sizes of volumes and a limit of ephemeral storage; kubelet evicts a pod that exceeds them',
  'prebuilt trees: copied into each sandbox (its files come from an image)',
  "system packages: not possible (the system is the image's)",
  'between Runs: all processes stopped by signals',
  'end: all processes killed; files go with the pod',
]
