"""The chat page in headless Chromium."""
import os
import pathlib
import re
import shutil

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

SIZES = {"desktop": (1280, 800), "phone": (390, 844)}
SCREENSHOTS = os.environ.get("PACELINE_SCREENSHOTS")  # folder to keep them in; none when unset


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    driver, chromium = shutil.which("chromedriver"), shutil.which("chromium")
    if not driver or not chromium:
        pytest.skip("needs chromium and chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
                 "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
                 f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    session = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield session
    session.quit()


def open_page(browser, server, size):
    browser.set_window_size(*SIZES[size])
    browser.get(server.url)
    WebDriverWait(browser, 20).until(lambda b: b.find_element(By.ID, "connection").text == "connected")
    WebDriverWait(browser, 20).until(lambda b: b.find_element(By.ID, "model").get_attribute("textContent") != "")


def say(browser, text):
    browser.find_element(By.ID, "input").send_keys(text, Keys.ENTER)


def answers(browser):
    return browser.find_elements(By.CSS_SELECTOR, ".turn.assistant")


def wait_written(browser, number):
    WebDriverWait(browser, 60).until(
        lambda b: len(answers(b)) == number and "writing" not in answers(b)[-1].get_attribute("class"))
    return answers(browser)[-1]


def prompt_tokens(figures):
    """Reads `36 in, 7 out` of an answer's figures."""
    return int(re.search(r"(\d+) in", figures).group(1))


def keep_screenshot(browser, name):
    if SCREENSHOTS:
        browser.save_screenshot(str(pathlib.Path(SCREENSHOTS) / f"{name}.png"))


def errors_of(browser):
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


@pytest.mark.parametrize("size", SIZES)
def test_an_answer_is_written_with_its_figures(browser, server, size):
    open_page(browser, server, size)

    say(browser, "Show a Markdown list of three fruits, then a line of Python in a code block.")
    turn = wait_written(browser, 1)

    keep_screenshot(browser, f"answer-{size}")
    assert turn.find_element(By.CSS_SELECTOR, ".text").text.strip() != ""
    figures = turn.find_element(By.CSS_SELECTOR, ".figures").text
    assert "first token" in figures and "tokens/s" in figures
    assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    assert errors_of(browser) == []


def test_several_turns_are_one_conversation(browser, server):
    open_page(browser, server, "desktop")

    say(browser, "My dog is called Bello. Answer with OK.")
    first = wait_written(browser, 1).find_element(By.CSS_SELECTOR, ".figures").text
    say(browser, "What is my dog called?")
    second = wait_written(browser, 2).find_element(By.CSS_SELECTOR, ".figures").text

    # The page samples, so the words may differ; the prompt of the second turn holds the first.
    assert prompt_tokens(second) > prompt_tokens(first) + 15


def test_markdown_is_rendered(browser, server):
    open_page(browser, server, "desktop")

    found = browser.execute_script("""
      const {Typewriter} = await import("/ui/typewriter.js");
      const element = document.createElement("div");
      const writer = new Typewriter(element, () => {});
      writer.append("# Title\\n\\n- one\\n- two\\n\\n```python\\nprint('a < b')\\n```\\n\\n| a | b |\\n| - | - |\\n| 1 | 2 |");
      writer.finish();
      return ["h1", "li", "pre code", "td"].map((tag) => element.querySelectorAll(tag).length);""")

    assert found == [1, 2, 1, 2]


def test_stop_ends_the_answer_and_keeps_what_was_written(browser, server):
    open_page(browser, server, "desktop")

    say(browser, "Write a very long story about a lighthouse, at least 2000 words.")
    WebDriverWait(browser, 60).until(lambda b: len(answers(b)[-1].find_element(By.CSS_SELECTOR, ".text").text) > 40)
    browser.find_element(By.ID, "stop").click()
    turn = wait_written(browser, 1)

    assert "stopped" in turn.find_element(By.CSS_SELECTOR, ".figures").text
    assert browser.find_element(By.ID, "send").is_displayed()
    server.wait_at_rest(seconds=5)


def test_markup_that_the_model_writes_is_never_run(browser, server):
    open_page(browser, server, "desktop")

    html = browser.execute_script("""
      const {Typewriter} = await import("/ui/typewriter.js");
      const element = document.createElement("div");
      const writer = new Typewriter(element, () => {});
      writer.append('<img src=x onerror="window.hit=1"><script>window.hit=1</script>[x](javascript:window.hit=1) **b**');
      writer.finish();
      return element.innerHTML;""")

    assert "<strong>b</strong>" in html
    assert "onerror" not in html and "<script" not in html and "javascript:" not in html
    assert browser.execute_script("return window.hit") is None


def test_new_chat_starts_over_while_an_answer_runs(browser, server):
    open_page(browser, server, "desktop")

    say(browser, "Write a very long story about a mountain, at least 2000 words.")
    WebDriverWait(browser, 60).until(lambda b: len(answers(b)[-1].find_element(By.CSS_SELECTOR, ".text").text) > 10)
    browser.find_element(By.ID, "new-chat").click()
    say(browser, "What is the capital of France? One word.")
    turn = wait_written(browser, 1)

    assert len(answers(browser)) == 1
    assert turn.find_element(By.CSS_SELECTOR, ".text").text.strip() != ""
    assert "first token" in turn.find_element(By.CSS_SELECTOR, ".figures").text


def test_the_page_is_small(server):
    files = ["/"] + ["/ui/" + name for name in ("app.css", "app.js", "connection.js", "typewriter.js", "marked.min.js",
                                               "purify.min.js")]

    sizes = [len(server.get(path)[1].encode()) for path in files]

    assert all(size > 0 for size in sizes)
    assert sum(sizes) < 500_000
