import { Type } from 'typebox'
import { AuditEntryPage, AuditFacets } from '../audit.ts'
import { Health } from '../health.ts'
import { operation } from '../operation.ts'
import {
  ModelCheck,
  OrganizationSettings,
  PricedModelList,
  UpdateOrganizationSettings,
} from '../organization-settings.ts'
import { closed, someText } from '../scalar.ts'
import { Day, UsageReport, usageGroupings } from '../usage.ts'
import { Cursor, pageLimit } from './parameters.ts'

const people = { access: 'bearer', principal: 'person', tag: 'Organizations' } as const

const administrators = { access: 'person', needs: 'administrator', tag: 'Organizations' } as const

const auditFilters = {
  actor: Type.Optional(
    someText(100, { description: 'Id of a person, an app or an installation; or a kind, such as `operator`.' }),
  ),
  action: Type.Optional(
    someText(64, { description: 'An action, or the part of actions before the dot, such as `member`.' }),
  ),
  target: Type.Optional(
    someText(200, { description: 'Part of the target, or of its name as it is now, in either case.' }),
  ),
  from: Type.Optional(Day),
  to: Type.Optional(Day),
}

const UsageQuery = Type.Object(
  {
    by: Type.Enum(usageGroupings, { type: 'string', default: 'day' }),
    whose: Type.Enum(['me', 'organization'], {
      type: 'string',
      default: 'me',
      description: 'Whose usage counts. Only administrators read that of their organization.',
    }),
    from: Type.Optional(Day),
    to: Type.Optional(Day),
  },
  closed,
)

/** How people watch over an organization: what it uses, who did what, and whether it works. */
export const oversightOperations = {
  getUsage: operation({
    ...people,
    method: 'GET',
    path: '/cloud/usage',
    summary: 'Report the use of models',
    description:
      'Sums the requests that reached a provider, by default of the last 30 days. `from` and `to` are days of UTC, both included, at most 366.',
    capability: 'svc.cloud.sessions:read',
    query: UsageQuery,
    responses: { 200: { description: 'The report.', schema: UsageReport } },
    errors: [],
  }),
  exportUsage: operation({
    ...people,
    method: 'GET',
    path: '/cloud/usage/export',
    summary: 'Export the use of models',
    description: 'The groups of `getUsage` for each day, in one line each, with a line of titles. Nothing is left out.',
    capability: 'svc.cloud.sessions:read',
    query: UsageQuery,
    responses: { 200: { description: 'The lines.', mediaTypes: ['text/csv'] } },
    errors: [],
  }),
  readAudit: operation({
    ...administrators,
    method: 'GET',
    path: '/cloud/audit',
    summary: 'Search the audit log',
    description: 'As `listAudit`, with more filters. `from` and `to` are days of UTC, both included.',
    query: Type.Object({ limit: pageLimit(50), cursor: Cursor, ...auditFilters }, closed),
    responses: { 200: { description: 'A page of entries, newest first.', schema: AuditEntryPage } },
    errors: [],
  }),
  getAuditFacets: operation({
    ...administrators,
    method: 'GET',
    path: '/cloud/audit/facets',
    summary: 'List what the audit log can be filtered by',
    responses: { 200: { description: 'Actions and actors.', schema: AuditFacets } },
    errors: [],
  }),
  exportAudit: operation({
    ...administrators,
    method: 'GET',
    path: '/cloud/audit/export',
    summary: 'Export the audit log',
    description:
      'Streams every entry that `readAudit` would list, one JSON object a line, newest first. The log tells who exported it.',
    query: Type.Object(auditFilters, closed),
    responses: { 200: { description: 'The lines.', mediaTypes: ['application/x-ndjson'] } },
    errors: [],
  }),
  getHealth: operation({
    ...administrators,
    method: 'GET',
    path: '/cloud/health',
    summary: 'Read whether the service works for the organization now',
    responses: { 200: { description: 'Hosts, sandboxes and queues.', schema: Health } },
    errors: [],
  }),
  getOrganizationSettings: operation({
    ...administrators,
    method: 'GET',
    path: '/cloud/settings',
    summary: "Read the organization's settings",
    responses: { 200: { description: 'What it set itself, and what its operator set.', schema: OrganizationSettings } },
    errors: [],
  }),
  updateOrganizationSettings: operation({
    ...administrators,
    method: 'PUT',
    path: '/cloud/settings',
    summary: 'Set budgets of the organization, its people and its installations, and who its commits are by',
    description:
      'What is absent stays as it is. Budgets only tighten what the operator allows. What was spent in the current day and month counts. The bounds of a Run hold for Runs that start later. The choice for commits holds for Publications whose commit is not made yet.',
    body: UpdateOrganizationSettings,
    responses: { 200: { description: 'The settings as changed.', schema: OrganizationSettings } },
    errors: [],
  }),
  listPricedModels: operation({
    ...people,
    method: 'GET',
    path: '/cloud/models',
    summary: 'List models with their prices',
    capability: 'svc.cloud.sessions:read',
    responses: { 200: { description: 'The models.', schema: PricedModelList } },
    errors: [],
  }),
  checkModels: operation({
    ...administrators,
    method: 'POST',
    path: '/cloud/models/check',
    summary: 'Check the providers of models',
    description:
      'Asks each provider whose models the organization may use for its list of models, or, if it has none, one of its models for a word, which counts in no budget. An answer stands for 30 seconds.',
    responses: { 200: { description: 'How each provider answered.', schema: ModelCheck } },
    errors: [],
  }),
} as const
