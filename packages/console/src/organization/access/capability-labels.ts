import type { Capability } from '@berth/contract'

type Label = readonly [name: string, means: string]

const cloud = {
  'svc.cloud.access': ['Use Berth Cloud', 'Without it nothing else below counts.'],
  'svc.cloud.sessions:read': ['Read Sessions', 'Transcripts, files, reviews and streams. Webhooks need it.'],
  'svc.cloud.sessions:create': ['Start Sessions', 'Create, rename, archive and restore Sessions.'],
  'svc.cloud.turns:submit': ['Steer agents', 'Submit Turns, answer questions, stop Runs.'],
  'svc.cloud.approvals:respond': ['Decide approvals', 'Allow or deny what an agent asks for.'],
  'svc.cloud.repositories:read': ['List repositories', 'What its connections to Git hosts reach.'],
  'svc.cloud.publications:create': ['Deliver changes', 'Push branches and open pull requests.'],
  'svc.cloud.merges:create': ['Merge', 'Merge pull requests, now or when they are ready.'],
  'svc.cloud.transcriptions:create': ['Transcribe', 'Turn recordings into text.'],
  'environments:use': ['Use environments', 'Start Sessions in an environment of the organization.'],
  'environments:manage': ['Manage environments', 'Write environments and their secrets.'],
  'svc.cloud.runtime-releases:probe': ['Probe releases', 'Try a new engine in Sessions of its own.'],
} as const satisfies Partial<Record<Capability, Label>>

const gateway = {
  'svc.ai.invoke': ['Call models', 'Use the AI gateway. It costs money with each request.'],
} as const satisfies Partial<Record<Capability, Label>>

const all: Record<Capability, Label> = { ...cloud, ...gateway }

/** Capabilities in the groups in which people grant them. */
export const capabilityGroups: readonly { readonly label: string; readonly capabilities: readonly Capability[] }[] = [
  { label: 'Sessions and repositories', capabilities: Object.keys(cloud) as Capability[] },
  { label: 'AI gateway', capabilities: Object.keys(gateway) as Capability[] },
]

const read = ['svc.cloud.access', 'svc.cloud.sessions:read', 'svc.cloud.repositories:read'] as const
const work = [...read, 'svc.cloud.sessions:create', 'svc.cloud.turns:submit', 'environments:use'] as const

/** Rights in groups, by their use. */
export const presets: readonly { readonly label: string; readonly capabilities: readonly Capability[] }[] = [
  { label: 'Read only', capabilities: read },
  { label: 'CI: run agents, and read what they did', capabilities: work },
  {
    label: 'Deliver: CI, and open and merge pull requests',
    capabilities: [...work, 'svc.cloud.publications:create', 'svc.cloud.merges:create'],
  },
  { label: 'Models alone', capabilities: ['svc.ai.invoke'] },
  { label: 'Everything', capabilities: Object.keys(all) as Capability[] },
]

/** Returns a capability's name and meaning for people. One that this page does not know keeps its own name. */
export function capabilityLabel(capability: string): Label {
  return (all as Readonly<Record<string, Label>>)[capability] ?? [capability, '']
}

/** Returns a grant in a few words. */
export function grantSummary(capabilities: readonly string[]): string {
  if (capabilities.length === 0) return 'Nothing'
  const held = capabilities.filter(capability => capability !== 'svc.cloud.access')
  if (held.length === 0) return 'Access alone'
  const [first = '', second, ...rest] = held.map(capability => capabilityLabel(capability)[0])
  if (second === undefined) return first
  return rest.length === 0 ? `${first}, ${second}` : `${first}, ${second} and ${rest.length} more`
}
