import { Type } from 'typebox'
import { operation } from '../operation.ts'
import { StatementKeySet } from '../statement.ts'

/** The public operations. */
export const contractOperations = {
  getOpenApi: operation({
    method: 'GET',
    path: '/v1/openapi.json',
    summary: 'Read the OpenAPI document',
    tag: 'Contract',
    access: 'public',
    responses: {
      200: {
        description: 'The OpenAPI 3.1 document of the running build.',
        mediaTypes: ['application/json'],
        headers: { 'Cache-Control': 'Cacheable for 300 seconds.' },
      },
    },
    errors: [],
  }),
  getDocs: operation({
    method: 'GET',
    path: '/v1/docs',
    summary: 'Read the API reference',
    tag: 'Contract',
    access: 'public',
    responses: {
      200: {
        description: 'The first page of the API reference: authentication, and every operation by name.',
        mediaTypes: ['text/html'],
        headers: { 'Cache-Control': 'Cacheable for 300 seconds.' },
      },
    },
    errors: [],
  }),
  getDocsGroup: operation({
    method: 'GET',
    path: '/v1/docs/{group}',
    summary: 'Read the API reference of a group',
    tag: 'Contract',
    access: 'public',
    params: Type.Object({
      group: Type.String({
        pattern: '^[a-z-]{1,40}$',
        description: 'A group of operations, as the first page links to it, or `events`.',
      }),
    }),
    responses: {
      200: {
        description: 'The operations of the group with examples, and their schemas.',
        mediaTypes: ['text/html'],
        headers: { 'Cache-Control': 'Cacheable for 300 seconds.' },
      },
    },
    errors: ['unknown_endpoint'],
  }),
  getStatementKeys: operation({
    method: 'GET',
    path: '/.well-known/berth-keys.json',
    summary: 'Read the keys of statements',
    description:
      'Returns the public keys that verify signed statements of this deployment, as a JSON Web Key Set. Old keys stay in it. Keep a copy to verify without the network.',
    tag: 'Contract',
    access: 'public',
    responses: {
      200: {
        description: 'The keys.',
        schema: StatementKeySet,
        headers: { 'Cache-Control': 'Cacheable for 300 seconds.' },
      },
    },
    errors: [],
  }),
} as const
