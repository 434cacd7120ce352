import type { GitHost } from './git-host.ts'

/** The Git hosts of a deployment, by their ids. */
export class GitHosts {
  readonly #hosts: ReadonlyMap<string, GitHost>

  constructor(hosts: readonly GitHost[]) {
    this.#hosts = new Map(hosts.map(host => [host.id, host]))
  }

  /** Ids of all of them. */
  get ids(): readonly string[] {
    return [...this.#hosts.keys()]
  }

  /** The host that rows refer to; null where the deployment has it no more. */
  find(id: string): GitHost | null {
    return this.#hosts.get(id) ?? null
  }
}
