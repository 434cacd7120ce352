import { Browser } from '@berth/testing/testing.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { BerthProcess } from './berth-process.ts'
import { addressOf, Home, PeopleService, type Person } from './people-service.ts'

let service: PeopleService
beforeAll(async () => {
  service = await PeopleService.start()
})
afterAll(() => service[Symbol.asyncDispose]())

const codeOf = (it: BerthProcess): string => /^ {2}([A-Z]{4}-[A-Z]{4})$/m.exec(it.stdout)?.[1] ?? ''

/** Enters the code that a terminal shows, as far as the page that asks whose device it is. */
async function enterCode(it: BerthProcess) {
  const browser = new Browser(service.url)
  const page = await browser.get(await addressOf(it))
  return { browser, page: await browser.submit(page, { user_code: codeOf(it) }) }
}

async function approve(it: BerthProcess, { email, password }: Person): Promise<void> {
  const { browser, page } = await enterCode(it)
  expect(page.text).toContain(`${codeOf(it)}`)
  expect(page.text).toMatch(/berth\/\d+\.\d+\.\d+ /)
  const signedIn = await browser.submit(await browser.submit(page), { email, password })
  expect((await browser.submit(signedIn)).text).toContain('Device connected')
}

test('a code that a person enters in a browser elsewhere signs them in', async () => {
  await using home = await Home.make()
  const person = await service.newPerson()
  const organization = await service.newOrganization('Second House', person)
  const it = home.berth('login', '--device', '--url', service.url, '--organization', organization)
  await approve(it, person)
  expect(await it.ended()).toBe(0)
  const { stdout } = await home.run('whoami')
  expect(stdout).toContain(`Robin Marsh <${person.email}>`)
  expect(stdout).toMatch(/Organization +Second House/)
  expect(stdout).toMatch(/Role +member/)
  expect(stdout).toMatch(/Credential +profile second-house/)
})

test('a person who cancels on the page ends the wait of the terminal', async () => {
  await using home = await Home.make()
  const it = home.berth('login', '--device', '--url', service.url)
  const { browser, page } = await enterCode(it)
  expect((await browser.submit(page, {}, 'yes')).text).toContain('Sign-in cancelled')
  expect(await it.ended()).toBe(1)
  expect(it.stderr).toContain('the request was declined')
})
