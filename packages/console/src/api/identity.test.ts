import { beforeEach, expect, test, vi } from 'vitest'

const assign = vi.fn()
const fetch = vi.fn<() => Promise<Response>>()
vi.stubGlobal('location', {
  origin: 'http://127.0.0.1',
  pathname: '/settings/profile',
  search: '',
  assign,
})
vi.stubGlobal('sessionStorage', { getItem: () => null })
vi.stubGlobal('fetch', fetch)
const { signIn, signOut } = await import('./identity.ts')

beforeEach(() => assign.mockReset())

test('a request that is refused during a sign-out does not sign the person in again', async () => {
  const answer = Promise.withResolvers<Response>()
  fetch.mockReturnValueOnce(answer.promise)
  const leaving = signOut()
  void signIn()
  expect(assign).not.toHaveBeenCalled()
  answer.resolve(Response.json({ url: 'http://127.0.0.1/signed-out' }))
  expect(await leaving).toEqual({ url: 'http://127.0.0.1/signed-out' })
  // The page is still there until the browser has left it.
  void signIn()
  expect(assign).not.toHaveBeenCalled()
})

test('the page leads to the sign-in again once a sign-out has failed', async () => {
  fetch.mockResolvedValueOnce(Response.json({ error: 'service_unavailable' }, { status: 503 }))
  await expect(signOut()).rejects.toMatchObject({ status: 503 })
  void signIn()
  expect(assign.mock.calls).toEqual([['/cloud/auth/sign-in?return_to=%2Fsettings%2Fprofile']])
})
