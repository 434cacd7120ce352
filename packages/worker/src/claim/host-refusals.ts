import type { EgressTarget, RefusalCode } from '@berth/sandboxes/driver.ts'

/** Refusals that the environment, people or the organization are the cause of, and not the operator's settings. */
export type HostRefusal = Exclude<RefusalCode, 'policy'>

const texts: Readonly<Record<HostRefusal, (target: string, environment: string) => string>> = {
  never_host: target =>
    `the policy of the organization closes ${target}. No environment may name it; only an administrator can change that`,
  not_listed: (target, environment) =>
    `${target} is not among the hosts of the environment “${environment}”. Whoever may write the environment can add it to its network.hosts`,
  denied: target =>
    `a person refused ${target} for this turn. Do not try again; go on without it, or say why it is needed`,
  timed_out: target => `nobody decided in time about ${target}, so it is refused for this turn. Go on without it`,
  undecided: target => `nobody has decided about ${target} yet. People are still asked: try again later`,
  nobody_to_ask: (target, environment) =>
    `${target} is not among the hosts of the environment “${environment}”, and there is nobody to ask here. Whoever may write the environment can add it to its network.hosts`,
  secret_not_for_host: () => 'the name of the host holds a secret of this session, so nobody is asked about it',
  too_many_asked: target =>
    `people are asked about too many hosts at once, so nobody is asked about ${target}. Try again when they have decided`,
}

/** Returns a refusal in words for an agent: who refused what, and what to do now. */
export const refusalText = (code: HostRefusal, { host, port }: EgressTarget, environment: string): string =>
  texts[code](`${host}:${port}`, environment)
