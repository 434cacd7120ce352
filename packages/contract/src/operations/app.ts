import { Type } from 'typebox'
import {
  AppEnvelope,
  AppKeyList,
  AppList,
  AppSlug,
  CreateApp,
  KeyId,
  RegisterAppKey,
  RegisteredAppKey,
  UpdateApp,
} from '../app.ts'
import { operation } from '../operation.ts'

const shared = {
  tag: 'Apps',
  access: 'person',
  origin: 'account',
  needs: 'organization.applications.manage',
} as const

const AppPath = Type.Object({ appSlug: AppSlug })

/** Apps of an organization, and the keys by which their backends name themselves. */
export const appOperations = {
  createApp: operation({
    ...shared,
    method: 'POST',
    path: '/api/apps',
    summary: 'Create an app',
    description: "The app belongs to the organization of the caller's membership.",
    body: CreateApp,
    responses: { 201: { description: 'The app.', schema: AppEnvelope } },
    errors: ['app_slug_taken'],
  }),
  listApps: operation({
    ...shared,
    method: 'GET',
    path: '/api/apps',
    summary: "List the organization's apps",
    responses: { 200: { description: 'The apps by slug.', schema: AppList } },
    errors: [],
  }),
  updateApp: operation({
    ...shared,
    method: 'PATCH',
    path: '/api/apps/{appSlug}',
    summary: "Change an app's name or redirects",
    params: AppPath,
    body: UpdateApp,
    responses: { 200: { description: 'The app as changed.', schema: AppEnvelope } },
    errors: ['app_not_found'],
  }),
  deleteApp: operation({
    ...shared,
    recent: true,
    method: 'DELETE',
    path: '/api/apps/{appSlug}',
    summary: 'Delete an app',
    description:
      'Its keys are refused from now on, and its installations are revoked in every organization. The slug is never given to another app.',
    params: AppPath,
    responses: { 204: { description: 'The app is deleted.' } },
    errors: ['app_not_found'],
  }),
  registerAppKey: operation({
    ...shared,
    recent: true,
    method: 'POST',
    path: '/api/apps/{appSlug}/keys',
    summary: 'Register a public key',
    description:
      'The key is named by its RFC 7638 thumbprint. Registering an active key again answers 200 with the same `kid`. A revoked key cannot return.',
    params: AppPath,
    body: RegisterAppKey,
    responses: {
      200: { description: 'The key was registered already.', schema: RegisteredAppKey },
      201: { description: 'The key is registered.', schema: RegisteredAppKey },
    },
    errors: ['app_not_found', 'app_key_limit_reached'],
  }),
  listAppKeys: operation({
    ...shared,
    method: 'GET',
    path: '/api/apps/{appSlug}/keys',
    summary: "List an app's keys",
    description: 'Lists keys in the order of their registration, revoked ones included.',
    params: AppPath,
    responses: { 200: { description: 'The keys.', schema: AppKeyList } },
    errors: ['app_not_found'],
  }),
  revokeAppKey: operation({
    ...shared,
    recent: true,
    method: 'DELETE',
    path: '/api/apps/{appSlug}/keys/{kid}',
    summary: 'Revoke a key',
    description: 'Assertions that the key signed are refused from now on. Revoking a key again changes nothing.',
    params: Type.Object({ appSlug: AppSlug, kid: KeyId }),
    responses: { 204: { description: 'The key is revoked.' } },
    errors: ['app_not_found', 'app_key_not_found'],
  }),
} as const
