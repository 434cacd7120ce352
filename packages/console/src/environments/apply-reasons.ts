const reasons: Readonly<Record<string, string>> = {
  setup_exit_nonzero: 'The setup script failed.',
  setup_timeout: 'The setup script ran longer than the service allows.',
  repository_clone_failed: 'A repository could not be cloned.',
  packages_failed: 'The system packages could not be installed.',
  secret_unavailable: 'A secret cannot be opened any more; write it again.',
  apply_failed: 'The time for it was over, or the service failed.',
  workspace_lost: 'The sandbox was lost.',
  sandbox_unavailable: 'The sandbox was lost, or could not be made.',
  cancelled: 'It was cancelled.',
  session_archived: 'The Session was archived.',
  cloud_checks_required: 'The environment has no checks any more.',
}

/** Returns why a sandbox could not be set up, as a sentence. */
export const applyReason = (code: string): string => reasons[code] ?? `${code.replaceAll('_', ' ')}.`
