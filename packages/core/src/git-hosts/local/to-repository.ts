import type { HostRepository } from '../git-host.ts'
import type { LocalHead } from './default-branch.ts'

/** Returns a repository of the data directory as a host describes it. */
export const toRepository = (
  { id, owner, name }: { readonly id: string; readonly owner: string; readonly name: string },
  { branch, born, empty }: LocalHead,
  consoleUrl: string,
): HostRepository => ({
  repositoryId: id,
  fullName: `${owner}/${name}`,
  private: true,
  defaultBranch: born || empty ? branch : null,
  // The console has no page of a repository; its Sessions come closest.
  htmlUrl: `${consoleUrl}/sessions?repository=local:${id}`,
  cloneUrl: null,
})
