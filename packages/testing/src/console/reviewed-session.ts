import { Delivering } from '../git/delivering.ts'
import { localRepository } from '../git/local-repository.ts'
import type { TestService } from '../services/service.ts'

/**
 * Makes a repository on this machine and a Session on it, whose sandbox is attached.
 * @param files content by path at the top of the tree, beside the sample's own
 */
export async function sessionOnRepository(
  test: TestService,
  fullName: string,
  files: Readonly<Record<string, string>> = {},
): Promise<Delivering> {
  return Delivering.begin(test, await localRepository(test, fullName, files), { title: 'Mend the greeting' })
}
