import { type Capability, capabilities } from '@berth/contract'

const descriptions: Readonly<Record<Capability, string>> = {
  'svc.cloud.access': 'Use the service',
  'svc.cloud.sessions:create': 'Start sessions of agents, which run on the service and use its models',
  'svc.cloud.sessions:read': 'Read its sessions, with all messages and files',
  'svc.cloud.turns:submit': 'Give its agents work, and stop it',
  'svc.cloud.approvals:respond': 'Answer when an agent asks for approval',
  'svc.cloud.repositories:read': 'See which repositories it may use',
  'svc.cloud.publications:create': 'Push branches and open pull requests with what agents wrote',
  'svc.cloud.merges:create': 'Merge pull requests',
  'svc.cloud.transcriptions:create': 'Turn speech into text',
  'svc.cloud.runtime-releases:probe': 'Test releases of agent runtimes',
  'environments:manage': 'Change environments, with the secrets that agents get',
  'environments:use': 'Choose environments for its sessions, and read them',
  'svc.ai.invoke': 'Call AI models, on the account of your organization',
}

/** Says in plain words what a capability lets an app do. */
export function describeCapability(name: string): string {
  const known = capabilities.find(each => each === name)
  return known === undefined ? name : descriptions[known]
}
