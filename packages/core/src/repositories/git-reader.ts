/**
 * Names the installation whose grants a Session's sandbox reads repositories with. Sessions with one reader may read the
 * same, so what setup made of it may pass from one to the next. People of an organization share the service's own
 * installation in it (`findSessionAccounts`).
 */
export function gitReaderOf(session: {
  readonly owner_kind: 'app_installation' | 'person'
  readonly owner_id: string
}): string {
  return session.owner_kind === 'app_installation' ? session.owner_id : 'own'
}
