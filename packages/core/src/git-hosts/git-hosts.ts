import type { GitHost } from './git-host.ts'
import type { HostPeople } from './host-people.ts'

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

  /** Returns true if the deployment has a host of this kind. */
  hasKind(kind: string): boolean {
    return [...this.#hosts.values()].some(host => host.kind === kind)
  }

  /** True if a host of the deployment signs commits that it makes. */
  get canSign(): boolean {
    return [...this.#hosts.values()].some(host => host.signing !== undefined)
  }

  /** Hosts at which people can connect accounts of their own. */
  get withPeople(): readonly (GitHost & { readonly people: HostPeople })[] {
    return [...this.#hosts.values()].flatMap(host =>
      host.people === undefined ? [] : [host as typeof host & { readonly people: HostPeople }],
    )
  }

  /** Returns the host that rows refer to; null if the deployment no longer has it. */
  find(id: string): GitHost | null {
    return this.#hosts.get(id) ?? null
  }
}
