/** Product access, which every operation requires besides its own capability. */
export const accessCapability = 'svc.cloud.access'

/** The capabilities that a credential can hold. */
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
