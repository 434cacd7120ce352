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
  'environments:use',
  'svc.ai.invoke',
] as const

export type Capability = (typeof capabilities)[number]

/** What a membership can be allowed to administer, beside its role. */
export const permissions = ['organization.integrations.manage', 'organization.applications.manage'] as const

export type Permission = (typeof permissions)[number]

/** Roles of a membership. An administrator holds every permission. */
export const roles = ['member', 'admin'] as const

export type Role = (typeof roles)[number]

/** What people hold, whatever their role. The others are for installations alone. */
export const personCapabilities = [
  accessCapability,
  'svc.cloud.sessions:create',
  'svc.cloud.sessions:read',
  'svc.cloud.turns:submit',
  'svc.cloud.approvals:respond',
  'svc.cloud.publications:create',
  'svc.cloud.merges:create',
  'svc.cloud.transcriptions:create',
  'svc.ai.invoke',
] as const satisfies readonly Capability[]
