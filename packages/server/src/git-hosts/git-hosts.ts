import type { GitHost } from './git-host.ts'

/** The Git hosts of a deployment, by their ids. */
export class GitHosts {
  readonly #hosts: ReadonlyMap<string, GitHost>

  constructor(hosts: readonly GitHost[]) {
    this.#hosts = new Map(hosts.map(host => [host.id, host]))
  }

  /** Ids of all hosts. */
  get ids(): readonly string[] {
    return [...this.#hosts.keys()]
  }

  /** Returns the host that rows refer to; null if the deployment no longer has it. */
  find(id: string): GitHost | null {
    return this.#hosts.get(id) ?? null
  }
}
