/** Product access: every operation needs it beside its own capability (interface 5.2). */
export const accessCapability = 'svc.cloud.access'

/** What a credential can be allowed to do (interface 5.2). */
export const capabilities = [
  accessCapability,
  'svc.cloud.sessions:create',
  'svc.cloud.sessions:read',
  'svc.cloud.turns:submit',
  'svc.cloud.approvals:respond',
  'svc.cloud.repositories:read',
  'svc.cloud.publications:create',
  'svc.cloud.merges:create',
  'svc.cloud.transcriptions:create',
  'svc.cloud.runtime-releases:probe',
  'environments:manage',
  'svc.ai.invoke',
] as const

export type Capability = (typeof capabilities)[number]
