import { operation } from '../operation.ts'

/** The two public endpoints (interface 4.1). */
export const contractOperations = {
  getOpenApi: operation({
    method: 'GET',
    path: '/v1/openapi.json',
    summary: 'Read the contract of the running build',
    tag: 'Contract',
    access: 'public',
    responses: {
      200: {
        description: 'An OpenAPI 3.1 document.',
        mediaTypes: ['application/json'],
        headers: { 'Cache-Control': 'Cacheable for 300 seconds.' },
      },
    },
    errors: [],
  }),
  getDocs: operation({
    method: 'GET',
    path: '/v1/docs',
    summary: 'Read the contract as a page',
    tag: 'Contract',
    access: 'public',
    responses: {
      200: {
        description: 'The contract for people to read.',
        mediaTypes: ['text/html'],
        headers: { 'Cache-Control': 'Cacheable for 300 seconds.' },
      },
    },
    errors: [],
  }),
} as const
