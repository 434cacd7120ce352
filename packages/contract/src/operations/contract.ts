import { operation } from '../operation.ts'

/** The two public operations. */
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
        description: 'The API reference as a web page.',
        mediaTypes: ['text/html'],
        headers: { 'Cache-Control': 'Cacheable for 300 seconds.' },
      },
    },
    errors: [],
  }),
} as const
