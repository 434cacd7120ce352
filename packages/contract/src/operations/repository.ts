import { Type } from 'typebox'
import { defaultPageSize, limits } from '../limits.ts'
import { operation } from '../operation.ts'
import {
  LocalPullEnvelope,
  LocalReviewEnvelope,
  RepositoryGrantEnvelope,
  RepositoryGrantPage,
  RepositoryPage,
  WriteLocalReview,
} from '../repository.ts'
import { closed, Uuid } from '../scalar.ts'
import { pageLimit } from './parameters.ts'

const RepositoryPaging = Type.Object(
  {
    limit: pageLimit(defaultPageSize.repositories),
    cursor: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: limits.repositoryCursorCharacters,
        description: '`nextCursor` of the previous page.',
      }),
    ),
  },
  closed,
)

const LocalPullPath = Type.Object({
  repositoryId: Type.String({ pattern: '^[0-9]{1,18}$' }),
  number: Type.String({ pattern: '^[1-9][0-9]{0,8}$' }),
})

const shared = {
  tag: 'Repositories',
  access: 'bearer',
  capability: 'svc.cloud.repositories:read',
  principal: 'app_installation',
} as const

/** Repositories and the grants for them. */
export const repositoryOperations = {
  listRepositories: operation({
    ...shared,
    method: 'GET',
    path: '/v1/repositories',
    summary: 'List repositories',
    description:
      "Lists the repositories that the installation's grants cover, as the Git hosts report them now. Time is limited, so a page may be short or " +
      'empty while `hasMore` is true. `missing` names the accounts whose hosts did not answer; a host that may answer later is asked ' +
      'once more, on the pages after those of the others.',
    query: RepositoryPaging,
    inputError: 'invalid_input',
    responses: { 200: { description: 'A page of repositories.', schema: RepositoryPage } },
    errors: ['invalid_input'],
  }),
  listRepositoryGrants: operation({
    ...shared,
    method: 'GET',
    path: '/v1/repository-grants',
    summary: 'List repository grants',
    description:
      'Lists grants, newest first, including those that have ended. The first page asks the hosts of accounts that are granted whole for ' +
      'new repositories; `missing` names those that did not answer.',
    query: RepositoryPaging,
    inputError: 'invalid_input',
    responses: { 200: { description: 'A page of grants.', schema: RepositoryGrantPage } },
    errors: ['invalid_input'],
  }),
  getActiveRepositoryGrant: operation({
    ...shared,
    method: 'GET',
    path: '/v1/repository-grants/{grantId}/active',
    summary: 'Find the active successor of a grant',
    description: 'Follows the replacements of a grant to the active one; returns the grant itself if it is active.',
    params: Type.Object({ grantId: Uuid }),
    inputError: 'invalid_input',
    responses: { 200: { description: 'The active grant.', schema: RepositoryGrantEnvelope } },
    errors: ['invalid_input', 'cloud_repository_grant_not_found'],
  }),
  getLocalPull: operation({
    tag: 'Repositories',
    access: 'bearer',
    capability: 'svc.cloud.sessions:read',
    method: 'GET',
    path: '/v1/local-repositories/{repositoryId}/pulls/{number}',
    summary: 'Read a pull request of a local repository',
    description:
      'Returns a pull request of a repository that the service itself hosts, with the reasons that keep it from being merged. ' +
      'The caller sees the Session that published it, or holds a grant of the repository.',
    params: LocalPullPath,
    responses: { 200: { description: 'The pull request.', schema: LocalPullEnvelope } },
    errors: ['cloud_repository_grant_not_found'],
  }),
  reviewLocalPull: operation({
    tag: 'Repositories',
    access: 'bearer',
    capability: 'svc.cloud.publications:create',
    method: 'PUT',
    path: '/v1/local-repositories/{repositoryId}/pulls/{number}/reviews/{reviewId}',
    summary: 'Review a pull request of a local repository',
    description:
      'Reviews an open pull request of a repository that the service itself hosts, or comments on it and its lines. Whoever may read it and ' +
      'publish may do so. A review never changes; what follows the pull request takes it up.',
    params: Type.Object({ ...LocalPullPath.properties, reviewId: Uuid }),
    body: WriteLocalReview,
    responses: {
      201: { description: 'The review was written.', schema: LocalReviewEnvelope },
      200: { description: 'An earlier request with the same body wrote the review.', schema: LocalReviewEnvelope },
    },
    errors: ['cloud_repository_grant_not_found', 'local_review_conflict', 'invalid_request'],
  }),
} as const
